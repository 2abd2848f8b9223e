import { expect, test } from 'vitest';
import { isRepositoryUrl, redactText, redactUrl } from '../../../scheduler/model/repository-url.ts';

test('what git fetches is distinguished from a directory', () => {
  for (const url of ['https://example.com/x', 'ssh://git@host/x', 'git@host:team/x', 'host:x', 'file:///x'])
    expect(isRepositoryUrl(url), url).toBe(true);
  for (const path of ['platform', './a:b', '../x', '/srv/x', 'C:\\x', 'C:/x'])
    expect(isRepositoryUrl(path), path).toBe(false);
});

test('user names and passwords are taken out, wherever the @ stands', () => {
  expect(redactUrl('https://user:p@ss@example.com/a@b?c=d@e')).toBe('https://example.com/a@b?c=d@e');
  expect(redactUrl('https://token@example.com')).toBe('https://example.com');
  expect(redactText("fatal: unable to access 'https://u:p@example.com/x': failed")).toBe(
    "fatal: unable to access 'https://example.com/x': failed",
  );
});
