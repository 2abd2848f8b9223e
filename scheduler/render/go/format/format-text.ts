import { checkLength, type Run } from '../../run.ts';
import { quote } from '../quote.ts';
import { codePoints } from '../../../model/go/utf8.ts';
import { type Directive, pad } from './directive.ts';

/** Characters that a raw string literal cannot contain. */
// oxlint-disable-next-line no-control-regex
const NO_RAW = /[`\x00-\x08\x0a-\x1f\x7f\ufeff]/;

const hex = (run: Run, text: string, directive: Directive): string => {
  const { sharp, space, precision, verb } = directive;
  const bytes = [...Buffer.from(text)].slice(0, precision);
  checkLength(run, bytes.length * 5);
  const digits = bytes.map((byte) => byte.toString(16).padStart(2, '0'));
  const prefix = sharp && bytes.length > 0 ? '0x' : '';
  const out = space ? digits.map((pair) => prefix + pair).join(' ') : prefix + digits.join('');
  return pad(run, verb === 'X' ? out.toUpperCase() : out, directive);
};

/** Formats a text; undefined when the verb is not valid for texts. */
export const formatText = (run: Run, text: string, directive: Directive): string | undefined => {
  const { verb, precision, plus, sharp } = directive;
  const cut = precision === undefined ? text : codePoints(text).slice(0, precision).join('');
  switch (verb) {
    case 's':
      return pad(run, cut, directive);
    case 'v':
      return pad(run, directive.sharpV ? quote(cut) : cut, directive);
    case 'q':
      return pad(run, sharp && !NO_RAW.test(cut) ? `\`${cut}\`` : quote(cut, plus), directive);
    case 'x':
    case 'X':
      return hex(run, text, directive);
    default:
      return undefined;
  }
};
