import type { Plugin } from 'rolldown';

/**
 * One character beyond Latin-1 in a file makes V8 keep two bytes for each of its characters. Comments are gone by now, and
 * everywhere else an escape says the same.
 */
export const inAscii = (): Plugin => ({
  name: 'in-ascii',
  generateBundle: (_options, bundle) => {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type === 'chunk') chunk.code = chunk.code.replaceAll(/[^\0-\x7f]/g, escapeCharacter);
    }
  },
});

const escapeCharacter = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
