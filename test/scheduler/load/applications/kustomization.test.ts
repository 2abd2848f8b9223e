import { describe, expect, it } from 'vitest';
import { FleetError } from '../../../../bundles/errors.ts';
import {
  checkSettingsFile,
  readKustomization,
} from '../../../../scheduler/load/applications/kustomization.ts';
import { isRemote } from '../../../../scheduler/load/sources/kustomization-file.ts';
import { told } from '../../told.ts';

const refusal = (call: () => unknown): FleetError => {
  try {
    call();
  } catch (error) {
    if (error instanceof FleetError) return error;
  }
  throw new Error('not refused');
};

const read = (text: string) =>
  readKustomization('k/kustomization.yaml', 'k/kustomization.yaml', Buffer.from(text));

describe('a kustomization', () => {
  it('has entries from all fields that name files and folders', () => {
    const { entries, settings, listing } = read(
      'resources: [a.yaml, ../base]\nbases: [b]\ncomponents: [c]\ntransformers: [d.yaml]\nnamePrefix: x-\n',
    );
    expect(entries).toEqual(['a.yaml', '../base', 'b', 'c']);
    expect(settings).toEqual(['d.yaml']);
    expect(listing).toBe(false);
    expect(read('apiVersion: kustomize.config.k8s.io/v1beta1\nresources: [a.yaml]\n').listing).toBe(true);
  });

  it('with a second document is refused at its line, because Kustomize would leave it out in silence', () => {
    expect(refusal(() => read('resources: [a.yaml]\n---\nresources: [b.yaml]\n'))).toMatchObject({
      code: 'OBJECT_INVALID',
      at: { file: 'k/kustomization.yaml', line: 3, column: 1 },
    });
    for (const end of ['---\n', '...\n', '---\n# end\n'])
      expect(read(`---\nresources: [a.yaml]\n${end}`).entries).toEqual(['a.yaml']);
    expect(told(() => read('# nothing\n'))).toContain('OBJECT_INVALID');
  });

  it.each([
    'https://example.com/a.yaml',
    'http://example.com/a.yaml',
    'git@github.com:owner/repo',
    'github.com/owner/repo//folder',
    'git::https://example.com/repo',
    'ssh://git@example.com/repo',
    'example.com/repo?ref=main',
  ])('with the address %s is refused, in every field', (address) => {
    expect(isRemote(address)).toBe(true);
    for (const text of [
      `resources: ["${address}"]`,
      `patches: [{path: "${address}"}]`,
      `configMapGenerator: [{name: a, files: ["a=1", "${address}"]}]`,
      `openapi: {path: "${address}"}`,
    ])
      expect(told(() => read(text))).toContain('is outside of the repository');
  });

  it.each([
    [
      'behind a key',
      'configMapGenerator:\n  - name: a\n    files: ["k=http://127.0.0.1:1/x"]\n',
      'configMapGenerator.files',
      3,
    ],
    [
      'of a secret',
      'secretGenerator: [{name: a, envs: ["http://127.0.0.1:1/x"]}]\n',
      'secretGenerator.envs',
      1,
    ],
    [
      'in another case',
      'Generators:\n  - |\n    apiVersion: builtin\n    files: [http://127.0.0.1:1/x]\n',
      'files',
      2,
    ],
    ['in settings on one line', `transformers: ['{"path": "http://127.0.0.1:1/x"}']\n`, 'path', 1],
    ['behind an anchor', 'metadata: {name: &a "http://127.0.0.1:1/x"}\ncrds: [*a]\n', 'crds', 1],
    ['in base64', 'crds: [!!binary aHR0cDovLzEyNy4wLjAuMToxL3g=]\n', 'crds', 1],
    ['with a line break', 'resources: ["http://127.0.0.1:1/x\\n"]\n', 'resources', 1],
    ['in a replacement', 'replacements: [{path: "http://127.0.0.1:1/x"}]\n', 'replacements.path', 1],
  ])('N10: an address %s is refused with its line and field -> FIELD_INVALID', (_, text, field, line) => {
    const error = refusal(() => read(text));
    expect(error).toMatchObject({ code: 'FIELD_INVALID', at: { file: 'k/kustomization.yaml', line } });
    expect(error.message).toMatch(new RegExp(`^${RegExp.escape(field)} (?:names http|has the tag)`));
  });

  it('N10: an address in settings of a generator, in a file of its own, is refused -> FIELD_INVALID', () => {
    const check = (text: string | Buffer) => refusal(() => checkSettingsFile('k/g.yaml', Buffer.from(text)));
    const generator = 'apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\n';
    expect(check(`${generator}files: ["k=http://127.0.0.1:1/x"]\n`)).toMatchObject({
      code: 'FIELD_INVALID',
      at: { file: 'k/g.yaml', line: 4 },
    });
    expect(check(Buffer.from(`\ufeff${generator}files: [http://127.0.0.1:1/x]\n`, 'utf16le'))).toMatchObject({
      code: 'YAML_SYNTAX',
    });
    checkSettingsFile('k/g.yaml', Buffer.from(`${generator}literals: ["home=https://example.com"]\n`));
  });

  it('may have addresses in values', () => {
    const { entries } = read(
      [
        'resources: ["a@b.yaml", host.example/a.yaml]',
        'configMapGenerator: [{name: a, literals: ["url=x", "https://example.com"]}]',
        'commonAnnotations: {home: "https://example.com"}',
        'patches: [{patch: "https://example.com", target: {kind: A}}]',
        'images: [{name: a, newName: "git@example.com:a"}]',
      ].join('\n'),
    );
    expect(entries).toHaveLength(2);
  });

  it('that would fetch a chart, or is invalid, is refused', () => {
    expect(told(() => read('helmCharts: [{name: a}]'))).toContain('helmCharts is refused');
    expect(told(() => read('[a, b]'))).toContain('this is not a kustomization');
    expect(told(() => read('a: [b'))).toContain('YAML_SYNTAX');
  });
});
