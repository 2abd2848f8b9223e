import { validate as isCron } from 'node-cron';
import { narrowed, refuse, textLike } from '../../model/yaml/shape.ts';

const HINT = "Write it like '0 22 * * 1-5 for 6h': minute, hour, day, month, weekday";

/** A recurring time, '<cron> for <duration>' (bundles/windows.ts). */
export const window = narrowed(
  textLike(/^\S+(?: \S+){4} for [1-9][0-9]{0,4}[smh]$/, 'is not a window', HINT, { maxLength: 255 }),
  {},
  (text, node, path, reading) =>
    isCron(text.replace(/ for \S+$/, ''))
      ? text
      : refuse(reading, node, `${path} ${JSON.stringify(text)} is not a time`, HINT),
);
