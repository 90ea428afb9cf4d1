// A target of precompiled headers (precompiled.cmake) needs a source file.
