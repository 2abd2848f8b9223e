import { describe, expect, it } from 'vitest';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { digestOf } from '#bundles/digest';
import { FleetError, formatError } from '#bundles/errors';
import { assembleHost } from '../../../../../scheduler/assemble/bundle/host/assemble-host.ts';
import { noAccess } from '../../content/no-access.ts';
import { clusterType, renderedPackage, target } from '../../../model-objects.ts';

const at = { file: 'workload.yaml', line: 7, column: 7 };
const rendered = renderedPackage(
  clusterType('press', { target: 'host', configType: 'env-file', offline: true }),
  target('scale/host', { at }),
);

const HEAD = 'apiVersion: fleet-ferry/v1alpha1\nkind: HostPackage\nmetadata: {name: scale}\nspec:\n';
const ENCRYPTED =
  '{"data":"ENC[AES256_GCM,data:x,type:str]","sops":{"mac":"ENC[AES256_GCM,data:y,type:str]"}}';

const assemble = (spec: string, more: Readonly<Record<string, string>> = {}) =>
  assembleHost(
    rendered,
    {
      shown: 'apps/scale/',
      files: new Map(
        Object.entries({ 'package.yaml': HEAD + spec, ...more }).map(([path, text]) => [
          path,
          Buffer.from(text),
        ]),
      ),
    },
    noAccess(),
  );
const refused = async (spec: string, more: Readonly<Record<string, string>> = {}): Promise<string> => {
  try {
    await assemble(spec, more);
  } catch (error) {
    if (error instanceof FleetError) return formatError(error);
    throw error;
  }
  return 'taken';
};
const packageOf = (made: Awaited<ReturnType<typeof assemble>>) =>
  parseHostPackage(made.files.find(({ path }) => path === 'package.json')?.bytes as Buffer);

const line = (fields: string) => `  secrets:\n  - {${fields}}\n`;

describe('a secret of a host package', () => {
  it('is read from a key of a secret set, with mode 0600 and owner root by default', async () => {
    const made = await assemble(line('path: /run/scale/password, set: mqtt, key: password'));
    expect(packageOf(made)).toMatchObject({
      secrets: [
        {
          path: '/run/scale/password',
          mode: '0600',
          owner: 'root',
          group: 'root',
          set: 'mqtt',
          key: 'password',
        },
      ],
      critical: ['secrets'],
    });
    expect(made.owns).toEqual(['/run/scale/password']);
  });

  it('may be an encrypted file, which is packed unchanged', async () => {
    const made = await assemble(line('path: /run/scale/env, source: env.sops, mode: "0440", group: scale'), {
      'env.sops': ENCRYPTED,
    });
    expect(packageOf(made).secrets).toEqual([
      {
        path: '/run/scale/env',
        mode: '0440',
        owner: 'root',
        group: 'scale',
        content: 'secrets/run/scale/env',
        digest: digestOf(ENCRYPTED),
        size: ENCRYPTED.length,
      },
    ]);
    const carried = made.files.find(({ path }) => path === 'secrets/run/scale/env');
    expect(carried?.bytes.toString()).toBe(ENCRYPTED);
  });

  it('may be in restartOn of a unit', async () => {
    const units = '  units:\n  - {name: scale.service, restartOn: [/run/scale/password]}\n';
    expect(await refused(line('path: /run/scale/password, set: mqtt, key: password') + units)).toBe('taken');
  });

  it.each([
    ['on a disk', 'path: /etc/scale/password, set: mqtt, key: a', 'not below /run/'],
    ['that climbs out', 'path: /run/../etc/shadow, set: mqtt, key: a', 'not an absolute path'],
    ['of nothing', 'path: /run/a', 'needs set and key, or source alone'],
    ['of a set without a key', 'path: /run/a, set: mqtt', 'needs set and key, or source alone'],
    [
      'of a set and a file',
      'path: /run/a, set: mqtt, key: a, source: x',
      'needs set and key, or source alone',
    ],
    ['of a set with a strange name', 'path: /run/a, set: "My Set", key: a', 'not a name of a secret set'],
    ['of a strange key', 'path: /run/a, set: mqtt, key: "a/b"', 'not a key of a secret set'],
    ['of a file that is not there', 'path: /run/a, source: gone.sops', 'REFERENCE_MISSING'],
    [
      'of a file that is not encrypted',
      'path: /run/a, source: plain.json',
      "not encrypted in SOPS' binary form",
    ],
    ['of a file in another form', 'path: /run/a, source: other.sops', "not encrypted in SOPS' binary form"],
  ])('%s is refused with its position, without the plain value', async (_, fields, message) => {
    const error = await refused(line(fields), {
      'plain.json': '{"data":"hunter2","sops":{"mac":"x"}}',
      'other.sops': '{"password":"ENC[x]","sops":{"mac":"x"}}',
    });
    expect(error).toContain(message);
    expect(error).toContain('apps/scale/package.yaml:');
    expect(error).not.toContain('hunter2');
  });

  it('clashes with a file or secret at the same path or below it', async () => {
    const one = '  - {path: /run/a, set: mqtt, key: a}\n';
    expect(await refused(`  secrets:\n${one}${one}`)).toContain('OBJECT_CLASH');
    expect(await refused(`  secrets:\n${one}  - {path: /run/a/b, set: mqtt, key: b}\n`)).toContain(
      'OBJECT_CLASH',
    );
    const file = '  files:\n  - {path: /run/a, content: x}\n';
    expect(await refused(`${file}  secrets:\n${one}`)).toContain('OBJECT_CLASH');
  });
});

describe('a package without secrets', () => {
  it('has no secrets field and no critical field', async () => {
    const spec = packageOf(await assemble('  files:\n  - {path: /etc/a, content: x}\n'));
    expect(spec.secrets).toBeUndefined();
    expect(spec.critical).toEqual([]);
  });
});
