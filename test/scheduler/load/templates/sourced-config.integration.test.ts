import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { renderBuiltIn } from './render-template.ts';

const values = {
  TEXT: `it's "a" $b \`c\` \\ d\ne`,
  PORT: 8080,
  RATE: 1.5,
  ON: true,
  NONE: null,
  DEEP: { x: [1] },
};

test('a shell that sources a shell or env-file configuration has the values, and runs no command in them', () => {
  for (const [type, path] of [
    ['shell', 'platform-config.sh'],
    ['env-file', 'platform-config.env'],
  ] as const) {
    const config = { ...values, EVIL: '$(echo ran >&2)`echo ran >&2`' };
    const { files } = renderBuiltIn({ clusterType: { configType: type }, config });
    const [[found, text] = []] = Object.entries(files);
    expect(found).toBe(path);
    const script = `set -a\n${text}\nset +a\nprintf '%s\\0' "$TEXT" "$PORT" "$RATE" "$ON" "$NONE" "$DEEP" "$EVIL"`;
    const out = execFileSync('sh', ['-c', script], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    expect(out.split('\0').slice(0, -1)).toEqual([
      values.TEXT,
      '8080',
      '1.5',
      'true',
      '',
      '{"x":[1]}',
      '$(echo ran >&2)`echo ran >&2`',
    ]);
  }
});
