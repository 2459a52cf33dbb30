# One INTERFACE target carries every flag; nothing touches CMAKE_C_FLAGS.
add_library(ringway_flags INTERFACE)
target_include_directories(ringway_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(ringway_flags INTERFACE _GNU_SOURCE)
target_compile_options(ringway_flags INTERFACE
  -Wall -Wextra -Wshadow -Wpointer-arith -Wcast-qual -Wstrict-prototypes
  -Wmissing-prototypes -Wold-style-definition -Wwrite-strings -Wundef -Wvla
  -Wformat=2 -Wswitch-enum -Wnull-dereference -Wimplicit-fallthrough
  -Wdouble-promotion -Wconversion -Wno-sign-conversion
  -fno-common -fno-omit-frame-pointer -fstack-protector-strong
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
  $<$<BOOL:${RINGWAY_WERROR}>:-Werror>
  "$<$<C_COMPILER_ID:GNU>:-Wlogical-op;-Wduplicated-cond>")
target_link_options(ringway_flags INTERFACE -Wl,-z,relro,-z,now -Wl,--as-needed)
if(NOT RINGWAY_SANITIZE) # fortify and sanitizers do not mix
  target_compile_options(ringway_flags INTERFACE
    "$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
else()
  target_compile_options(ringway_flags INTERFACE -fsanitize=${RINGWAY_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(ringway_flags INTERFACE -fsanitize=${RINGWAY_SANITIZE})
endif()
if(RINGWAY_COVERAGE)
  target_compile_options(ringway_flags INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(ringway_flags INTERFACE --coverage)
endif()
if(RINGWAY_BUILD_FUZZERS)
  target_compile_options(ringway_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
