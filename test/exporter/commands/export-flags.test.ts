import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { exportRequestOf } from '../../../exporter/commands/export-flags.ts';

it('a path with ".." through a missing folder resolves lexically', () => {
  const order = exportRequestOf(
    { from: 'a', to: 'new/../stick' },
    {},
    new Date(0),
    new AbortController().signal,
  );
  expect(order.to).toBe('stick');
});

it('--to refuses the address of a registry', () => {
  const signal = new AbortController().signal;
  expect(() => exportRequestOf({ from: 'a', to: 'oci://edge:5000/x' }, {}, new Date(0), signal)).toThrow(
    expect.objectContaining({
      code: 'USAGE',
      message: '--to is a folder or a file ending in .tar, not "oci://edge:5000/x"',
    }),
  );
});

it('--to refuses one folder that is given relative and absolute', () => {
  const signal = new AbortController().signal;
  const to = ['stick', resolve('stick')];
  expect(() => exportRequestOf({ from: 'a', to }, {}, new Date(0), signal)).toThrow(
    expect.objectContaining({ code: 'USAGE', message: `--to names ${to[1]} twice` }),
  );
});

it('--plain-http accepts several registries in one text, as the environment gives them', () => {
  const flags = { from: 'a', to: 'b', 'plain-http': 'one:5000, two:5000' };
  const { access } = exportRequestOf(flags, {}, new Date(0), new AbortController().signal);
  expect(access?.plainHttp).toEqual(['one:5000', 'two:5000']);
});
