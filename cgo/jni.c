// The native methods of io.tidemark.kafka.Native. JNI is called only before and after the one call into Go.
#include <jni.h>

#include "_cgo_export.h"

#define INVALID 8 // status.Invalid
#define NATIVE(result, name) JNIEXPORT result JNICALL Java_io_tidemark_kafka_Native_##name

// The frame in a direct buffer, or NULL: not direct, or shorter than the length.
static void *frame(JNIEnv *env, jobject buffer, jint length) {
	if (buffer == NULL || length < 0)
		return NULL;
	void *p = (*env)->GetDirectBufferAddress(env, buffer);
	return p != NULL && (*env)->GetDirectBufferCapacity(env, buffer) >= length ? p : NULL;
}

// Copies a reply into a new array and frees it. NULL for an empty reply, or with an OutOfMemoryError pending.
static jbyteArray take(JNIEnv *env, tm_buf *b) {
	jbyteArray a = NULL;
	if (b->p != NULL) {
		a = (*env)->NewByteArray(env, (jsize)b->n);
		if (a != NULL)
			(*env)->SetByteArrayRegion(env, a, 0, (jsize)b->n, b->p);
		tm_free(b->p);
		b->p = NULL;
	}
	return a;
}

// Stores one reply in the caller's array. Frees it in any case.
static void put(JNIEnv *env, jobjectArray out, jsize at, tm_buf *b) {
	if (b->p == NULL)
		return;
	if ((*env)->ExceptionCheck(env) || out == NULL || (*env)->GetArrayLength(env, out) <= at) {
		tm_free(b->p);
		b->p = NULL;
		return;
	}
	jbyteArray a = take(env, b);
	if (a == NULL)
		return;
	(*env)->SetObjectArrayElement(env, out, at, a);
	if (!(*env)->ExceptionCheck(env))
		(*env)->DeleteLocalRef(env, a);
}

static jint answer(JNIEnv *env, jobjectArray out, int32_t class, tm_buf *reply, tm_buf *err) {
	if (reply != NULL)
		put(env, out, 0, reply);
	put(env, out, 1, err);
	return class;
}

static void numbers(JNIEnv *env, jlongArray out, jsize n, const jlong *v) {
	if (out != NULL && !(*env)->ExceptionCheck(env) && (*env)->GetArrayLength(env, out) >= n)
		(*env)->SetLongArrayRegion(env, out, 0, n, v);
}

NATIVE(jint, abi)(JNIEnv *env, jclass c) {
	(void)env, (void)c;
	return tm_abi();
}

NATIVE(jint, init)(JNIEnv *env, jclass c, jobject req, jint n, jobjectArray out) {
	(void)c;
	tm_buf err = {0};
	void *p = frame(env, req, n);
	return answer(env, out, p == NULL ? INVALID : tm_init(p, n, &err), NULL, &err);
}

NATIVE(jobjectArray, slabs)(JNIEnv *env, jclass c) {
	(void)c;
	void *base = NULL;
	int32_t count = 0;
	int64_t size = 0;
	tm_slabs(&base, &count, &size);
	jclass buffer = (*env)->FindClass(env, "java/nio/ByteBuffer");
	if (buffer == NULL)
		return NULL;
	jobjectArray out = (*env)->NewObjectArray(env, count, buffer, NULL);
	for (int32_t i = 0; out != NULL && i < count; i++) {
		jobject slab = (*env)->NewDirectByteBuffer(env, (char *)base + i * size, size);
		if (slab == NULL)
			return NULL;
		(*env)->SetObjectArrayElement(env, out, i, slab);
		if ((*env)->ExceptionCheck(env))
			return NULL;
		(*env)->DeleteLocalRef(env, slab);
	}
	return out;
}

NATIVE(jint, open)(JNIEnv *env, jclass c, jobject req, jint n, jlongArray inst, jobjectArray out) {
	(void)c;
	tm_buf err = {0};
	uint64_t h = 0;
	void *p = frame(env, req, n);
	int32_t class = p == NULL ? INVALID : tm_rsm_open(p, n, &h, &err);
	jlong v = (jlong)h;
	numbers(env, inst, 1, &v);
	return answer(env, out, class, NULL, &err);
}

NATIVE(jint, close)(JNIEnv *env, jclass c, jlong inst, jint deadline_ms, jobjectArray out) {
	(void)c;
	tm_buf err = {0};
	return answer(env, out, tm_rsm_close((uint64_t)inst, deadline_ms, &err), NULL, &err);
}

NATIVE(jlong, opNew)(JNIEnv *env, jclass c, jlong inst) {
	(void)env, (void)c;
	return (jlong)tm_op_new((uint64_t)inst);
}

NATIVE(void, opCancel)(JNIEnv *env, jclass c, jlong op) {
	(void)env, (void)c;
	tm_op_cancel((uint64_t)op);
}

NATIVE(void, opFree)(JNIEnv *env, jclass c, jlong op) {
	(void)env, (void)c;
	tm_op_free((uint64_t)op);
}

NATIVE(jint, copy)(JNIEnv *env, jclass c, jlong op, jobject req, jint n, jobjectArray out) {
	(void)c;
	tm_buf reply = {0}, err = {0};
	void *p = frame(env, req, n);
	int32_t class = p == NULL ? INVALID : tm_copy((uint64_t)op, p, n, &reply, &err);
	return answer(env, out, class, &reply, &err);
}

NATIVE(jint, streamOpen)(JNIEnv *env, jclass c, jlong op, jobject req, jint n, jlongArray out, jobjectArray errs) {
	(void)c;
	tm_buf err = {0};
	uint64_t h = 0;
	int64_t total = 0;
	void *p = frame(env, req, n);
	int32_t class = p == NULL ? INVALID : tm_stream_open((uint64_t)op, p, n, &h, &total, &err);
	jlong v[] = {(jlong)h, total};
	numbers(env, out, 2, v);
	return answer(env, errs, class, NULL, &err);
}

NATIVE(jint, streamNext)(JNIEnv *env, jclass c, jlong stream, jlongArray out, jobjectArray errs) {
	(void)c;
	tm_buf err = {0};
	int32_t slab = 0;
	int64_t off = 0, len = 0;
	int32_t class = tm_stream_next((uint64_t)stream, &slab, &off, &len, &err);
	jlong v[] = {slab, off, len};
	numbers(env, out, 3, v);
	return answer(env, errs, class, NULL, &err);
}

NATIVE(void, streamClose)(JNIEnv *env, jclass c, jlong stream) {
	(void)env, (void)c;
	tm_stream_close((uint64_t)stream);
}

NATIVE(jint, delete)(JNIEnv *env, jclass c, jlong op, jobject req, jint n, jobjectArray out) {
	(void)c;
	tm_buf err = {0};
	void *p = frame(env, req, n);
	return answer(env, out, p == NULL ? INVALID : tm_delete((uint64_t)op, p, n, &err), NULL, &err);
}

NATIVE(jint, leadership)(JNIEnv *env, jclass c, jlong inst, jobject req, jint n, jobjectArray out) {
	(void)c;
	tm_buf err = {0};
	void *p = frame(env, req, n);
	return answer(env, out, p == NULL ? INVALID : tm_leadership((uint64_t)inst, p, n, &err), NULL, &err);
}

NATIVE(jint, call)(JNIEnv *env, jclass c, jlong op, jobject req, jint n, jobjectArray out) {
	(void)c;
	tm_buf reply = {0}, err = {0};
	void *p = frame(env, req, n);
	int32_t class = p == NULL ? INVALID : tm_call((uint64_t)op, p, n, &reply, &err);
	return answer(env, out, class, &reply, &err);
}

NATIVE(jbyteArray, logPoll)(JNIEnv *env, jclass c, jint max_bytes, jint wait_ms) {
	(void)c;
	tm_buf reply = {0};
	tm_log_poll(max_bytes, wait_ms, &reply);
	return reply.p == NULL ? (*env)->NewByteArray(env, 0) : take(env, &reply);
}

NATIVE(void, logLevel)(JNIEnv *env, jclass c, jint level) {
	(void)env, (void)c;
	tm_log_level(level);
}

NATIVE(jint, metricsSchema)(JNIEnv *env, jclass c, jlong inst, jobjectArray out) {
	(void)c;
	tm_buf reply = {0}, err = {0};
	int32_t class = tm_metrics_schema((uint64_t)inst, &reply, &err);
	return answer(env, out, class, &reply, &err);
}

NATIVE(jint, metrics)(JNIEnv *env, jclass c, jlong inst, jobjectArray out) {
	(void)c;
	tm_buf reply = {0}, err = {0};
	int32_t class = tm_metrics((uint64_t)inst, &reply, &err);
	return answer(env, out, class, &reply, &err);
}

NATIVE(jint, health)(JNIEnv *env, jclass c, jobjectArray out) {
	(void)c;
	tm_buf reply = {0}, err = {0};
	int32_t class = tm_health(&reply, &err);
	return answer(env, out, class, &reply, &err);
}
