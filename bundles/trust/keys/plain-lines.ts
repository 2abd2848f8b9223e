/** PEM as editors of other systems leave it: a mark before the first letter, and line ends of two characters. */
export const plainLines = (text: string): string => text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
