/** Threads of an engine, what they wait for, and how readers do without locks. */
package lsmlab.storage.concurrent;
