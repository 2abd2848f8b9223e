import { describe, expect, it } from 'vitest';
import {
  coversAddress,
  isSameRepository,
  ownerOf,
  parseAddress,
  type RepositoryAddress,
} from '../../../scheduler/model/repository-address.ts';

const parse = (text: string): RepositoryAddress => {
  const address = parseAddress(text);
  if (!address) throw new Error(`${text} is not an address`);
  return address;
};
const covers = (prefix: string, repo: string): boolean => coversAddress(parse(prefix), parse(repo));

describe('the address of a repository', () => {
  it('is parsed into transport, user, host and path', () => {
    expect(parse('https://Git.Example:8443/a/b%20c.git/')).toEqual({
      transport: 'https',
      user: '',
      host: 'git.example:8443',
      path: ['a', 'b c'],
    });
    expect(parse('git@github.com:acme/app.git')).toEqual({
      transport: 'scp',
      user: 'git',
      host: 'github.com',
      path: ['acme', 'app'],
    });
    expect(parse('ssh://git@host/srv/x')).toMatchObject({ transport: 'ssh', user: 'git' });
    expect(parse('https://host')).toMatchObject({ path: [] });
  });

  it.each([
    '/srv/git/priv',
    '../priv',
    './priv',
    'priv',
    'file:///srv/git/priv',
    'FILE:///srv/git/priv',
    'ext::sh -c id',
    'ext::sh',
    'fd::17',
    'https::https://host/a/b',
    'C:\\priv',
    '-uhost:a/b',
    '--upload-pack=id',
    'ssh://-oProxyCommand=id/a/b',
    '-oProxyCommand=id@host:a/b',
    'host:-a/b',
    'host:/srv/a',
    'https://user:secret@host/a/b',
    'https://user@host/a/b',
    'https://host/a/../other/priv',
    'https://host/a/%2e%2e/other/priv',
    'https://host/a%2fb/c',
    'https://host/a%252fb/c',
    'https://host/a//b',
    'https://host/a/./b',
    'https://host/a\\..\\other',
    'https://host/a/b?x=1',
    'https://host/a/b#main',
    'https://host /a/b',
    'https://%67it.example/a/b',
    'https:///a/b',
    'ftp://host/a/b',
    'rsync://host/a/b',
    'https://host/%zz',
    '',
  ])('is undefined for %j', (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });

  it('is covered by a prefix of whole names, with the same host, transport and user', () => {
    expect(covers('https://host/a', 'https://HOST/a/b')).toBe(true);
    expect(covers('https://host/a/', 'https://host/a/b.git')).toBe(true);
    expect(covers('https://host', 'https://host/a/b')).toBe(true);
    expect(covers('git@host:a/', 'git@host:a/b')).toBe(true);
    expect(covers('https://host/a', 'https://host/ab/c')).toBe(false);
    expect(covers('https://host/a', 'http://host/a/b')).toBe(false);
    expect(covers('https://host/a', 'https://host:444/a/b')).toBe(false);
    expect(covers('https://host/a', 'https://host.evil/a/b')).toBe(false);
    expect(covers('git@host:a/', 'root@host:a/b')).toBe(false);
    expect(covers('https://host/a/b', 'https://host/a')).toBe(false);
  });

  it('is the same repository with another case, transport or .git suffix', () => {
    expect(isSameRepository(parse('https://host/Acme/App'), parse('git@host:acme/app.git'))).toBe(true);
    expect(isSameRepository(parse('https://host:444/a/pri%76'), parse('https://host/a/priv'))).toBe(true);
    expect(isSameRepository(parse('https://host/a/b'), parse('https://host/a/c'))).toBe(false);
    expect(ownerOf(parse('https://host/a/b/c'))?.path).toEqual(['a', 'b']);
    expect(ownerOf(parse('https://host/c'))).toBeUndefined();
  });
});
