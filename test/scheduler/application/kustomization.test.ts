import { describe, expect, it } from 'vitest';
import { readKustomization } from '../../../scheduler/application/kustomization.ts';
import { isRemote } from '../../../scheduler/platform/sources/kustomization-file.ts';
import { told } from '../told.ts';

const read = (text: string) =>
  readKustomization('k/kustomization.yaml', 'k/kustomization.yaml', Buffer.from(text));

describe('a kustomization', () => {
  it('names files and folders in all the fields that may', () => {
    const { entries, listing } = read(
      'resources: [a.yaml, ../base]\nbases: [b]\ncomponents: [c]\ntransformers: [d.yaml]\nnamePrefix: x-\n',
    );
    expect(entries).toEqual(['a.yaml', '../base', 'b', 'c', 'd.yaml']);
    expect(listing).toBe(false);
    expect(read('apiVersion: kustomize.config.k8s.io/v1beta1\nresources: [a.yaml]\n').listing).toBe(true);
  });

  it.each([
    'https://example.com/a.yaml',
    'http://example.com/a.yaml',
    'git@github.com:owner/repo',
    'github.com/owner/repo//folder',
    'git::https://example.com/repo',
    'ssh://git@example.com/repo',
    'example.com/repo?ref=main',
  ])('that names %s is refused, wherever that stands', (address) => {
    expect(isRemote(address)).toBe(true);
    for (const text of [
      `resources: ["${address}"]`,
      `patches: [{path: "${address}"}]`,
      `configMapGenerator: [{name: a, files: ["a=1", "${address}"]}]`,
      `openapi: {path: "${address}"}`,
    ])
      expect(told(() => read(text))).toContain('lies outside of the repository');
  });

  it('may have addresses among its values', () => {
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

  it('that would fetch a chart, or is none, is refused', () => {
    expect(told(() => read('helmCharts: [{name: a}]'))).toContain('helmCharts is not taken');
    expect(told(() => read('[a, b]'))).toContain('this is no kustomization');
    expect(told(() => read('a: [b'))).toContain('YAML_SYNTAX');
  });
});
