/** What an engine did in the background, and when. */
package lsmlab.storage.event;
