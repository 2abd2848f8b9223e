import { checkLength, type Run } from '../../run.ts';
import { codePoints } from '../../../model/go/utf8.ts';

/** The flags, width and precision of a directive, and its verb. */
export type Directive = {
  readonly minus: boolean;
  readonly plus: boolean;
  readonly sharp: boolean;
  readonly space: boolean;
  readonly zero: boolean;
  readonly width: number | undefined;
  readonly precision: number | undefined;
  readonly verb: string;
  /** `%+v`, which prints field names, and `%#v`, which prints Go syntax. */
  readonly plusV: boolean;
  readonly sharpV: boolean;
};

/** The verb %v without flags. */
export const PLAIN: Directive = {
  minus: false,
  plus: false,
  sharp: false,
  space: false,
  zero: false,
  width: undefined,
  precision: undefined,
  verb: 'v',
  plusV: false,
  sharpV: false,
};

/** Pads a text to the width, with leading zeros if the directive has the flag. */
export const pad = (run: Run, text: string, { minus, zero, width = 0 }: Directive): string => {
  if (width === 0) return text;
  checkLength(run, width);
  const missing = Math.max(0, width - codePoints(text).length);
  if (minus) return text + ' '.repeat(missing);
  return (zero ? '0' : ' ').repeat(missing) + text;
};
