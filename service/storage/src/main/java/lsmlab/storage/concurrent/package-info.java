/**
 * The threads of an engine, rate limits, object pools, and a gate that protects readers without
 * locks.
 */
package lsmlab.storage.concurrent;
