import { describe, expect, test } from 'vitest';
import { checkRef, locate, parseMap, parsePlatform } from '../../../scheduler/model/location.ts';

describe('--platform', () => {
  test.for([
    [
      '../platform',
      { location: { kind: 'directory', directory: '../platform', shown: '../platform' }, path: '.' },
    ],
    [
      'https://example.com/p.git',
      { location: { kind: 'git', repo: 'https://example.com/p.git', revision: { kind: 'head' } }, path: '.' },
    ],
    [
      'git@example.com:team/p#dev',
      {
        location: { kind: 'git', repo: 'git@example.com:team/p', revision: { kind: 'any', name: 'dev' } },
        path: '.',
      },
    ],
    [
      'file:///p#v1:deep/platform',
      {
        location: { kind: 'git', repo: 'file:///p', revision: { kind: 'any', name: 'v1' } },
        path: 'deep/platform',
      },
    ],
  ] as const)('%s is read', ([text, expected]) => {
    expect(parsePlatform(text)).toEqual(expected);
  });

  test('a ref that git would take for an option is refused', () => {
    expect(() => parsePlatform('https://example.com/p#--upload-pack=x')).toThrow(/not a name of a branch/);
    for (const name of ['-x', 'a..b', 'a b', 'a~1', 'a:b', 'refs/', '@{0}', 'x.lock', ''])
      expect(() => checkRef(name, 'USAGE'), name).toThrow();
  });
});

describe('--map', () => {
  test.for([
    ['https://example.com/c=../c', { repo: 'https://example.com/c', directory: '../c' }],
    ['https://example.com/c#dev=../c=d', { repo: 'https://example.com/c', ref: 'dev', directory: '../c=d' }],
    ['https://example.com/c=./c#1', { repo: 'https://example.com/c', directory: './c#1' }],
    ['https://example.com/c#dev=./c#1', { repo: 'https://example.com/c', ref: 'dev', directory: './c#1' }],
    [
      'https://example.com/c=https://example.com/c#pr-7',
      {
        repo: 'https://example.com/c',
        git: { kind: 'git', repo: 'https://example.com/c', revision: { kind: 'any', name: 'pr-7' } },
      },
    ],
    [
      'https://example.com/c#main=git@fork.example:team/c#feature/x',
      {
        repo: 'https://example.com/c',
        ref: 'main',
        git: { kind: 'git', repo: 'git@fork.example:team/c', revision: { kind: 'any', name: 'feature/x' } },
      },
    ],
    ['https://example.com/c?a=b=/srv/c', { repo: 'https://example.com/c?a=b', directory: '/srv/c' }],
  ] as const)('%s is read', ([text, expected]) => {
    expect(parseMap(text)).toEqual(expected);
  });

  test.for(['https://example.com/c', '=dir', 'https://example.com/c=', 'https://u:s3cret@example.com/c'])(
    '%s is refused, without printing its password',
    (text) => {
      expect(() => parseMap(text)).toThrow(/is not <url>/);
      expect(() => parseMap(text)).not.toThrow(/s3cret/);
    },
  );

  test('a map to a folder inside a repository is refused', () => {
    expect(() => parseMap('https://example.com/c=https://example.com/c#main:deep')).toThrow(/names a folder/);
  });

  test('the most specific map is used, for any spelling of the URL', () => {
    const maps = [
      { repo: 'https://example.com/c', directory: 'any' },
      { repo: 'https://EXAMPLE.com/c.git', ref: 'dev', directory: 'dev' },
      { repo: 'https://example.com/c/', ref: 'a'.repeat(40), directory: 'pinned' },
    ];
    const directory = (...args: [string, Parameters<typeof locate>[2]]) => locate(maps, ...args);
    expect(directory('https://me@example.com/c', { kind: 'branch', name: 'dev' })).toMatchObject({
      directory: 'dev',
    });
    expect(directory('https://example.com/c', { kind: 'head' })).toMatchObject({ directory: 'any' });
    const pinned = { kind: 'commit', commit: 'a'.repeat(40), branch: 'dev' } as const;
    expect(directory('https://example.com/c', pinned)).toMatchObject({ directory: 'pinned' });
    expect(directory('https://example.com/c', { ...pinned, commit: 'b'.repeat(40) })).toMatchObject({
      directory: 'dev',
    });
    expect(directory('https://example.com/C', { kind: 'head' })).toMatchObject({ kind: 'git' });
  });
});
