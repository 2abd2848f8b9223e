/** The text of base64, as Secrets have it. */
export const decodeText = (text: string): string => Buffer.from(text, 'base64').toString('utf8');
