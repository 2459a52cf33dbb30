/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * A fuzz target without libFuzzer: runs it once on every file of the given folders (or on given
 * files), so that the committed corpus is a regression test for every compiler and sanitizer.
 *
 *     fuzz_x_replay corpus/x [file ...]
 *
 * Exit code 1 when a path can't be read or nothing was run.
 */

#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned files_run;

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat info;
	if (f == NULL || fstat(fileno(f), &info) != 0) {
		perror(path);
		if (f != NULL)
			(void)fclose(f);
		return 1;
	}
	size_t size = (size_t)info.st_size;
	uint8_t *data = malloc(size ? size : 1);
	int failed = data == NULL || fread(data, 1, size, f) != size;
	(void)fclose(f);
	if (!failed) {
		(void)LLVMFuzzerTestOneInput(data, size);
		files_run++;
	}
	free(data);
	return failed;
}

static int run_folder(const char *path)
{
	DIR *dir = opendir(path);
	int failed = 0;
	if (dir == NULL) {
		perror(path);
		return 1;
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		char file[PATH_MAX];
		int len = snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		if (entry->d_name[0] != '.' && len > 0 && (size_t)len < sizeof(file))
			failed |= run_file(file);
	}
	(void)closedir(dir);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;
	for (int i = 1; i < argc; i++) {
		struct stat info;
		if (stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode))
			failed |= run_folder(argv[i]);
		else
			failed |= run_file(argv[i]);
	}
	printf("%u inputs\n", files_run);
	return failed || files_run == 0;
}
