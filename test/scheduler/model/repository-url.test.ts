import { expect, test } from 'vitest';
import { isRepositoryUrl, redactText, redactUrl } from '../../../scheduler/model/repository-url.ts';

test('isRepositoryUrl distinguishes URLs that git fetches from directories', () => {
  for (const url of ['https://example.com/x', 'ssh://git@host/x', 'git@host:team/x', 'host:x', 'file:///x'])
    expect(isRepositoryUrl(url), url).toBe(true);
  for (const path of ['platform', './a:b', '../x', '/srv/x', 'C:\\x', 'C:/x'])
    expect(isRepositoryUrl(path), path).toBe(false);
});

test('redactUrl and redactText remove user names and passwords, for any position of the @', () => {
  expect(redactUrl('https://user:p@ss@example.com/a@b?c=d@e')).toBe('https://example.com/a@b?c=d@e');
  expect(redactUrl('https://token@example.com')).toBe('https://example.com');
  expect(redactText("fatal: unable to access 'https://u:p@example.com/x': failed")).toBe(
    "fatal: unable to access 'https://example.com/x': failed",
  );
});
