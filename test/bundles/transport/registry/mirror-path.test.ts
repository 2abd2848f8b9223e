import { describe, expect, it } from 'vitest';
import { isFleetError } from '#bundles/errors';
import { mirrorPath } from '#bundles/transport/registry/mirror-path';

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
});
