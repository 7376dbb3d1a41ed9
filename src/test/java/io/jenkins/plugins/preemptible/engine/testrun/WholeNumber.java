package io.jenkins.plugins.preemptible.engine.testrun;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A number of an option, 1 to 999,999,999. */
final class WholeNumber implements ITypeConverter<Integer> {

    @Override
    public Integer convert(String text) {
        if (!text.matches("[1-9][0-9]{0,8}")) {
            throw new TypeConversionException("no whole number");
        }
        return Integer.valueOf(text);
    }

    static String refused(String option, String text) {
        return "'" + option + "' takes a whole number from 1, but got '" + text + "'.";
    }
}
