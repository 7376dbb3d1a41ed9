/**
 * What pages, REST and logs show of one stage, item or build: actions, badges, names.
 *
 * <p>Everything may use it; it uses nothing of the plugin but its own words. Builds and flow nodes save some of the actions,
 * and the JavaScript of Blue Ocean names them: do not rename or move them. {@code ShownName} and {@code LoggedName} hide jobs
 * that the reader may not see; {@code ShownSentence} has the engine's sentences in the words of {@code Messages}. Any thread. Tests beside it.
 */
package io.jenkins.plugins.preemptible.view;
