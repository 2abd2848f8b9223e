import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isFleetError } from '#bundles/errors';
import { mirrorPath } from '#bundles/transport/registry/mirror-path';

const PAGE = join(import.meta.dirname, '../../../../docs/how-to/images-offline.md');
const digest = `sha256:${'0'.repeat(64)}`;

describe("mirrorPath, the path of an image in a site's registry", () => {
  it.each([
    ['docker.io/library/nginx', 'docker.io/library/nginx'],
    ['registry.example:5000/team/app', 'registry.example_5000/team/app'],
    ['localhost/app', 'localhost/app'],
    ['docker.io/nginx', 'docker.io/library/nginx'],
    ['app', 'docker.io/library/app'],
  ])('%s is at %s', (name, path) => {
    expect(mirrorPath(`${name}@${digest}`)).toBe(path);
  });

  it.each(['App', '[::1]:5000/app', '../x/app'])('%s has no path: IMAGE_REFUSED', (name) => {
    try {
      mirrorPath(`${name}@${digest}`);
      expect.unreachable();
    } catch (error) {
      expect(isFleetError(error, 'IMAGE_REFUSED')).toBe(true);
    }
  });

  it('is where the documented registries.yaml of k3s sends the pulls of a host', () => {
    const page = readFileSync(PAGE, 'utf8');
    const [, text = ''] = /```yaml\n(mirrors:.*?)```/s.exec(page) ?? [];
    const { mirrors } = parse(text) as {
      readonly mirrors: Readonly<Record<string, { readonly rewrite: Readonly<Record<string, string>> }>>;
    };
    const [[host, { rewrite }] = ['', { rewrite: {} }]] = Object.entries(mirrors);
    const [[from, to] = ['', '']] = Object.entries(rewrite);
    // The agent pushes below the path of imageRegistry, which is mirror on that page.
    expect('team/app'.replace(new RegExp(from), to)).toBe(
      `mirror/${mirrorPath(`${host}/team/app@${digest}`)}`,
    );
  });
});
