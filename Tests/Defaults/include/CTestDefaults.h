/* Nothing to call: that it is linked into the tests is enough. */
