#include <jni.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "tm.h"

// Signals that belong to the JVM and are directed at the process. The kernel delivers such a signal to any thread that
// does not block it; on a thread of Go a JVM handler would run on a goroutine's stack.
static const int jvm_signals[] = {SIGHUP,  SIGINT,    SIGQUIT, SIGTERM,  SIGUSR1, SIGUSR2, SIGCHLD,
				  SIGALRM, SIGVTALRM, SIGIO,   SIGWINCH, SIGTSTP, SIGCONT};

static sigset_t saved;
static pthread_t loader;
static int masked;

// Runs before the constructor of the Go runtime, which has no priority, so that the threads of Go inherit the mask.
__attribute__((constructor(101))) static void mask_before_go(void) {
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof jvm_signals / sizeof *jvm_signals; i++)
		sigaddset(&set, jvm_signals[i]);
	loader = pthread_self();
	masked = pthread_sigmask(SIG_BLOCK, &set, &saved) == 0;
}

// Runs on the thread that loaded the library, and again for every further class loader, where there is nothing to
// restore: constructors run once.
JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved) {
	(void)vm;
	(void)reserved;
	if (masked && pthread_equal(loader, pthread_self())) {
		masked = 0;
		pthread_sigmask(SIG_SETMASK, &saved, NULL);
	}
	return JNI_VERSION_10;
}

void tm_handlers(int32_t *installed, int32_t *without_onstack) {
	*installed = *without_onstack = 0;
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction a;
		if (sigaction(sig, NULL, &a) != 0)
			continue;
		if (!(a.sa_flags & SA_SIGINFO) && (a.sa_handler == SIG_DFL || a.sa_handler == SIG_IGN))
			continue;
		++*installed;
		if (!(a.sa_flags & SA_ONSTACK))
			++*without_onstack;
	}
}
