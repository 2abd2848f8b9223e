/** Text of a schema, cut at its code: every second part was between backticks. */
export const codeParts = (text: string): readonly string[] => text.split(/`([^`]+)`/);
