package io.jenkins.plugins.preemptible.config;

import hudson.util.ListBoxModel;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.Collectors;
import jenkins.model.Jenkins;

/**
 * A setting that is one word out of a few.
 *
 * <ol>
 *   <li>The words are the constants' names in lower case, with hyphens: {@code never-preempt}.
 *   <li>Any other word is refused with a sentence that has the setting's name and all its words; Configuration as Code
 *       and Stapler would name a Java class.
 *   <li>The page shows each with a text of its own.
 * </ol>
 */
final class Choice {

    private Choice() {}

    static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** @throws IllegalArgumentException when there is no such word, with a sentence for people */
    static <E extends Enum<E>> E of(Class<E> constants, String setting, String given) {
        return Arrays.stream(constants.getEnumConstants())
                .filter(constant -> word(constant).equals(given))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(Messages.Choice_Unknown(
                        setting,
                        given,
                        Arrays.stream(constants.getEnumConstants())
                                .map(Choice::word)
                                .collect(Collectors.joining(", ")))));
    }

    /** For the page; for administrators only. */
    static <E extends Enum<E>> ListBoxModel options(Class<E> constants, Function<E, String> text) {
        Jenkins.get().checkPermission(Jenkins.ADMINISTER);
        ListBoxModel options = new ListBoxModel();
        for (E constant : constants.getEnumConstants()) {
            options.add(text.apply(constant), word(constant));
        }
        return options;
    }
}
