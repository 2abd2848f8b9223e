import { expect, test } from 'vitest';
import { DEFAULT_PREFERENCES, parsePreferences } from '../../../../scheduler/page/api/parse-preferences.ts';

test('keeps known choices', () => {
  expect(parsePreferences('{"times":"local","rows":"compact"}')).toEqual({ times: 'local', rows: 'compact' });
});

test.each([null, '', '{', 'null', '7', '[]', '{"times":"mars","rows":7,"more":true}'])(
  'has the defaults for %s',
  (text) => {
    expect(parsePreferences(text)).toEqual(DEFAULT_PREFERENCES);
  },
);
