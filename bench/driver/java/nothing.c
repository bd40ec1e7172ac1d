/* The floor of every native call: one that does nothing. */
#include <jni.h>

JNIEXPORT jint JNICALL Java_Drive_nothing(JNIEnv *env, jclass c) {
	(void)env;
	(void)c;
	return 1;
}
