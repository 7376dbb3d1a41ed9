/**
 * Settings: the global configuration, folders, jobs, and the simulation of settings with past builds.
 *
 * <p>Every package above may use it; it uses {@code priority}, {@code hand} and {@code view}. Fields and class names are
 * saved by Jenkins and used by Configuration as Code: do not rename them. Setters check their range and save; values may be
 * read from any thread, under the queue's lock too. A simulation loads builds, on a thread of its own. Tests beside it.
 */
package io.jenkins.plugins.preemptible.config;
