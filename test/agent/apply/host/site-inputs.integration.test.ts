import { describe, expect, it } from 'vitest';
import { digestOf } from '../../../../bundles/digest.ts';
import { applyTo, lines, never, packageOf, sandbox } from './sandbox.ts';

describe('site values', () => {
  const spec = {
    files: {
      '/etc/a.env': { content: 'LINE=?\nX=1\n', format: 'env' },
      '/etc/b.json': { content: '{"line":{"id":0}}', format: 'json' },
    },
  } as const;
  const inputs = (line: string, id: number) => [
    { file: '/etc/a.env', pointer: '/LINE', value: line },
    { file: '/etc/b.json', pointer: '/line/id', value: id },
  ];

  it('are part of the content that is written, compared and recorded', async () => {
    await using host = await sandbox();
    const desired = packageOf({ ...spec, siteInputs: inputs('press 4', 4) });
    await applyTo(host.target, host.inventory, desired);
    expect(await host.read('/etc/a.env')).toBe('LINE="press 4"\nX=1\n');
    expect(JSON.parse(await host.read('/etc/b.json'))).toEqual({ line: { id: 4 } });
    expect(host.inventory.owned[0]).toMatchObject({
      key: 'file:/etc/a.env',
      state: { digest: digestOf('LINE="press 4"\nX=1\n') },
    });
    expect(await host.target.observe(desired, host.inventory.owned, never)).toEqual([]);
    const moved = packageOf({ ...spec, siteInputs: inputs('press 4', 5) });
    const { results } = await applyTo(host.target, host.inventory, moved);
    expect(lines(results)).toEqual(['configured file:/etc/b.json: content differs']);
  });

  it.each([
    ['a file that the package does not have', { file: '/etc/c', pointer: '/A', value: 1 }],
    ['a file without a format', { file: '/etc/plain', pointer: '/A', value: 1 }],
    ['a pointer that is none', { file: '/etc/a.env', pointer: 'LINE', value: 1 }],
  ])('for %s are refused', async (_, input) => {
    await using host = await sandbox();
    const desired = packageOf({ files: { ...spec.files, '/etc/plain': 'x' }, siteInputs: [input] });
    await expect(host.target.plan(desired, [], new Map(), never)).rejects.toMatchObject({
      code: 'SITE_VALUES',
      message: expect.stringContaining(input.file),
    });
  });
});
