find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
# Three parts of libevent, not the umbrella: evhttp lives in _extra.
pkg_check_modules(libevent REQUIRED IMPORTED_TARGET libevent_core>=2.1 libevent_extra>=2.1 libevent_pthreads>=2.1)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash>=0.8)
if(RINGWAY_BUILD_TESTS)
  pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka>=1.1)
  pkg_check_modules(hiredis REQUIRED IMPORTED_TARGET hiredis>=0.14)
endif()
