// Preloaded into MPI tests under LeakSanitizer. Open MPI unloads its plugins in MPI_Finalize, after
// which nothing can name them and no suppression matches their leaks; so nothing is unloaded.
extern "C" int dlclose(void* /*handle*/);
extern "C" int dlclose(void* /*handle*/) { return 0; }
