import { describe, expect, test } from 'vitest';
import { pinQuadlet, refusePulls } from '../../../../../scheduler/assemble/content/quadlets/pin-quadlet.ts';

const at = { file: 'apps/shop/package.yaml', line: 7, column: 7 };
const application = { shown: 'apps/shop/' };
const PATH = '/etc/containers/systemd/web.container';

/** The text with every image in brackets, and where each one is. */
const pin = (text: string, path = PATH, source?: string) => {
  const places: string[] = [];
  const bytes = pinQuadlet({ path, source, at }, application, Buffer.from(text), (image, place) => {
    places.push(`${place.file}:${place.line} ${image}`);
    return `<${image}>`;
  });
  return { text: bytes.toString(), places };
};

describe('the image of a quadlet', () => {
  test.each([
    ['a tag', '[Container]\nImage=registry.example/app:1\n', '[Container]\nImage=<registry.example/app:1>\n'],
    ['spaces and a later line', '[Unit]\n[Container]\n# Image=a\n Image = nginx \n', 'Image=<nginx>\n'],
    [
      'a name on a line that continues it',
      '[Container]\nImage=\\\n  # the press\n  nginx\nExec=a\n',
      'Image=<nginx>\nExec=a',
    ],
    ['a registry of the host', '[Container]\nImage=localhost:5000/app\n', 'Image=<localhost:5000/app>'],
  ])('with %s is pinned', (_what, text, wanted) => {
    expect(pin(text).text).toContain(wanted);
  });

  test('is pinned in drop-ins and in templates', () => {
    for (const path of [`${PATH}.d/10-image.conf`, '/etc/containers/systemd/shop/web@.container'])
      expect(pin('[Container]\nImage=a:1', path).text).toBe('[Container]\nImage=<a:1>');
  });

  test('has its line in the quadlet file, or the line of the object when the content is inline', () => {
    const text = '[Unit]\n[Container]\nImage=a:1\n';
    expect(pin(text, PATH, 'web.container').places).toEqual(['apps/shop/web.container:3 a:1']);
    expect(pin(text).places).toEqual(['apps/shop/package.yaml:7 a:1']);
  });

  test.each([
    'oci-archive:/opt/image.tar',
    'docker-archive:/opt/image.tar',
    'oci:/opt/layout',
    'docker://registry.example/app:1',
    'containers-storage:app',
    'localhost/app:1',
    'web.image',
    'web.build',
    'registry.example/app:%i',
    '',
  ])('is left unchanged when it is not a registry reference: %s', (image) => {
    const text = `[Container]\nImage=${image}\n`;
    expect(pin(text)).toEqual({ text, places: [] });
  });

  test.each([
    ['another section', PATH, '[Service]\nImage=a:1\n'],
    ['a comment', PATH, '[Container]\n;Image=a:1\n#Image=a:1\n'],
    ['a continued line', PATH, '[Container]\nExec=sh \\\nImage=a:1\n'],
    [
      'a file that is not a container quadlet',
      '/etc/containers/systemd/web.volume',
      '[Container]\nImage=a:1\n',
    ],
    ['a file elsewhere', '/opt/web.container', '[Container]\nImage=a:1\n'],
  ])('is not read from %s', (_what, path, text) => {
    expect(pin(text, path)).toEqual({ text, places: [] });
  });

  test('in a file that is not UTF-8 leaves the file unchanged', () => {
    const bytes = Buffer.from([0x5b, 0xff, 0x0a]);
    expect(pinQuadlet({ path: PATH, source: undefined, at }, application, bytes, () => '')).toEqual(bytes);
  });
});

test('Pull=always is refused on an offline cluster type', () => {
  const check = (text: string) => () =>
    refusePulls({ path: PATH, source: 'web.container', at }, application, Buffer.from(text));
  expect(check('[Container]\nImage=a:1\nPull=always\n')).toThrow(
    expect.objectContaining({
      code: 'PULL_POLICY',
      at: { file: 'apps/shop/web.container', line: 3, column: 1 },
    }),
  );
  expect(check('[Container]\nImage=a:1\nPull=missing\n')).not.toThrow();
});
