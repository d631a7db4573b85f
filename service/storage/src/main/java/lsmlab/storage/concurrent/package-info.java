/** Threads of an engine, rate limits, object pools, and protection of readers without locks. */
package lsmlab.storage.concurrent;
