/* unload.cpp: for shared libraries that contain libstdc++, which keeps 72 kB for exceptions: given back when the library
 * is unloaded. Not for static libraries, whose programs have one libstdc++ for everything. */
namespace __gnu_cxx {
void __freeres() __attribute__((weak)); /* other C++ libraries have none */
}

/* Behind all other destructors: 101 is the least priority that programs may have. */
__attribute__((destructor(101))) static void give_back() {
    if (__gnu_cxx::__freeres != nullptr)
        __gnu_cxx::__freeres();
}
