# cmake -DSOURCE=... -DOUT=... -P stamp.cmake: writes the header OUT, which names the commit that is built.
# Runs in each build, and writes only if something has changed.
#
# EBB_COMMIT and EBB_COMMIT_TIME say it for sources without a git checkout.

cmake_minimum_required(VERSION 3.25)

set(commit "${EBB_COMMIT}")
set(time "${EBB_COMMIT_TIME}")
set(changed false)
function(git output)
  execute_process(COMMAND git -C "${SOURCE}" ${ARGN} OUTPUT_VARIABLE text ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    set(text "")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()
if(NOT commit)
  git(prefix rev-parse --show-prefix)
  if(NOT prefix)  # Otherwise the sources lie inside another project's checkout.
    set(ENV{TZ} UTC)
    git(commit log -1 --format=%H)
    git(time log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)
    git(changes status --porcelain --untracked-files=no)
    if(changes)
      set(changed true)
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT "${OUT}" @ONLY CONTENT "\
// Written by cmake/stamp.cmake.
inline constexpr char kCommit[] = \"@commit@\";
inline constexpr char kCommitTime[] = \"@time@\";
inline constexpr bool kCommitChanged = @changed@;
")
