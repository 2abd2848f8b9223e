import { checkLength, type Run } from '../../run.ts';
import { codePoints } from '../utf8.ts';

/** What stands between a % and its verb, and the verb. */
export type Directive = {
  readonly minus: boolean;
  readonly plus: boolean;
  readonly sharp: boolean;
  readonly space: boolean;
  readonly zero: boolean;
  readonly width: number | undefined;
  readonly precision: number | undefined;
  readonly verb: string;
  /** `%+v`, which names fields, and `%#v`, which is Go's own notation. */
  readonly plusV: boolean;
  readonly sharpV: boolean;
};

/** The verb %v alone. */
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

/** Fills a text up to the width, with zeros only where the directive has them in front. */
export const pad = (run: Run, text: string, { minus, zero, width = 0 }: Directive): string => {
  if (width === 0) return text;
  checkLength(run, width);
  const missing = Math.max(0, width - codePoints(text).length);
  if (minus) return text + ' '.repeat(missing);
  return (zero ? '0' : ' ').repeat(missing) + text;
};
