/** Removes a byte order mark and converts line ends of CR LF, which some editors write into PEM. */
export const plainLines = (text: string): string => text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
