/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "base/err.h"

#include <string.h>

static const char *const own_text[RW_ERR_COUNT] = {
#define X(name, text) [POS_##name] = text,
#include "base/err_list.h"
#undef X
};

const char *rw_strerror(int err)
{
	const char *text = NULL;

	if (err == 0)
		return "success";
	if (err <= RW_ERR_BASE && err > RW_ERR_BASE - RW_ERR_COUNT)
		text = own_text[RW_ERR_BASE - err];
	else if (err < 0 && err > RW_ERR_BASE)
		text = strerrordesc_np(-err); /* static and without the locale, unlike strerror() */
	return text != NULL ? text : "unknown error";
}
