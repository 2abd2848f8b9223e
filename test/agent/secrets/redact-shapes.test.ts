import { describe, expect, it } from 'vitest';
import { namesSecret, redactShapes } from '../../../agent/secrets/redact-shapes.ts';
import { secretForms, redact } from '../../../agent/secrets/redact.ts';
import { shownText } from '../../../agent/secrets/shown-text.ts';

const HEX = 'a1'.repeat(32);

describe('secrets by their form', () => {
  it.each([
    ['postgres://app:hunter2@db/x', 'postgres://app:[secret]@db/x'],
    ['amqp://app:hun/ter@2@mq', 'amqp://app:[secret]@mq'],
    ['https://0123456789abcdef0123@git.example/x', 'https://[secret]@git.example/x'],
    ['PGPASSWORD=hunter2 psql', 'PGPASSWORD=[secret] psql'],
    ['password: hunter2', 'password: [secret]'],
    ["password='hunter2 with space' next", 'password=[secret] next'],
    ['password="no end\nnext', 'password=[secret]\nnext'],
    ['{"clientSecret":"hun, ter2","x":1}', '{"clientSecret":[secret],"x":1}'],
    [String.raw`"{\"apiToken\":\"hun ter2\",\"b\":2}"`, String.raw`"{\"apiToken\":[secret],\"b\":2}"`],
    ['curl --password hunter2 --url x', 'curl --password [secret] --url x'],
    ['psql --db-pass=hunter2', 'psql --db-pass=[secret]'],
    ['the password is hunter2', 'the password is [secret]'],
    ['?access_token=abc&page=1', '?access_token=[secret]&page=1'],
    ['Authorization: Bearer abc', 'Authorization: [secret]'],
    ['sent Bearer abc123456', 'sent Bearer [secret]'],
    ['Basic dXNlcjpwYXNzd29yZA==', 'Basic [secret]'],
    ['AGE-SECRET-KEY-1QQQQ7', '[secret]'],
    ['jwt eyJhbGciOiJI.eyJzdWIiOiIx.abc-_', 'jwt [secret]'],
    [`ffe_${'x'.repeat(32)} was used`, '[secret] was used'],
    [`ghp_${'x1'.repeat(18)}`, '[secret]'],
    ['AKIAABCDEFGHIJKLMNOP', '[secret]'],
    [`line ${'aB3/'.repeat(16)} of a key`, 'line [secret] of a key'],
  ])('%s', (text, shown) => {
    expect(redactShapes(text)).toBe(shown);
  });

  it('may have several lines, and no end where the text was cut', () => {
    const edge = (word: string): string => `-----${word} EC PRIVATE KEY-----`;
    const key = `${edge('BEGIN')}\nMHcC\n${edge('END')}`;
    expect(redactShapes(`a\n${key}\nb`)).toBe('a\n[secret]\nb');
    expect(redactShapes(`a\n${key.slice(0, 40)}`)).toBe('a\n[secret]');
  });

  it.each([
    'SECRET_MISSING: kiosk wants the secret set db',
    `sha256:${HEX}`,
    'Bearer token expired',
    'secret plant-7/db was read',
    'http://hub.example:8443/v1/status',
    'PrivateKeyFile /etc/x is not there',
  ])('are not found in: %s', (text) => {
    expect(redactShapes(text)).toBe(text);
  });

  it('have names that namesSecret recognizes', () => {
    const names = ['DB_PASSWORD', 'apiKey', 'clientSecret', 'X-Auth-Token', 'pass', 'PIN'];
    expect(names.filter(namesSecret)).toEqual(names);
    expect(['PATH', 'PORT', 'TOKEN_FILE', 'SPIN'].filter(namesSecret)).toEqual([]);
  });

  it.each([
    ['one letter', 'a'],
    ['names', 'password'],
    ['dashes', 'x-'],
    ['addresses', '://'],
    ['spaces', 'token  '],
    ['quotes', 'secret="'],
    ['beginnings', '-----BEGIN PRIVATE KEY-----\n'],
  ])('are found in time proportional to the text: %s', (_, piece) => {
    const take = (bytes: number): number => {
      const text = piece.repeat(bytes / piece.length);
      const begin = process.cpuUsage();
      redactShapes(text);
      return process.cpuUsage(begin).user;
    };
    take(20_000);
    expect(take(200_000)).toBeLessThan(40 * take(20_000) + 200_000);
  });
});

describe('known secrets', () => {
  const value = Buffer.from('k9-Wert/ü+1');
  const known = secretForms([value]);

  it('are found raw, URL-encoded, as JSON, Base64 and hexadecimal, and between colours', () => {
    const inside = Buffer.from(`user:${value.toString()}:x`).toString('base64');
    const texts = [
      value.toString(),
      encodeURIComponent(value.toString()),
      JSON.stringify(value.toString()),
      value.toString('base64'),
      value.toString('base64url'),
      value.toString('hex'),
      `Proxy ${inside}`,
      `\u001b[31mk9-\u001b[0mWert/ü+1`,
    ];
    for (const text of texts) {
      const shown = shownText(`before ${text} after`, known);
      expect(shown).toMatch(/^before .*\[secret\].* after$/);
      expect(shown).not.toContain('Wert');
    }
  });

  it('are found at every offset within Base64', () => {
    for (const before of ['', 'a', 'ab', 'abc']) {
      for (const after of ['', 'x', 'xy', 'xyz']) {
        const text = Buffer.from(`${before}${value.toString()}${after}`).toString('base64');
        expect(redact(text, known, text.length)).toContain('[secret]');
      }
    }
  });
});
