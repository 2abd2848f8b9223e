import { expect, test } from 'vitest';
import { withChoice, withoutChoices } from '../../../../scheduler/page/parts/narrow-query.ts';

const query = (text: string): URLSearchParams => new URLSearchParams(text);

test.each([
  ['kind=promotion&cursor=WzFd', 'kind', 'approval', 'kind=approval&cursor=WzFd'],
  ['kind=promotion&cursor=WzFd', 'kind', '', 'cursor=WzFd'],
  ['cursor=WzFd', 'environment', 'prod', 'environment=prod'],
  ['environment=prod&cursor=WzFd', 'environment', '', ''],
  ['site=plant-7&cursor=WzFd&sort=word', 'site', 'plant-8', 'site=plant-8&sort=word'],
])(
  'of %s, a choice of %s as "%s" makes %s: a page of another answer is not kept',
  (text, key, value, wanted) => {
    expect(withChoice(query(text), key, value).toString()).toBe(wanted);
  },
);

test('without the choices of rows, the question to the hub, the order and the columns stay', () => {
  const asked = query(
    'name=web&at=2026-11-01T08%3A00%3A00Z&channel=prod%2Fpress&health=failed&sort=since&columns=Version',
  );
  expect(withoutChoices(asked, ['channel', 'version', 'health']).toString()).toBe(
    'name=web&at=2026-11-01T08%3A00%3A00Z&sort=since&columns=Version',
  );
  expect(withoutChoices(query('environment=prod&cursor=WzFd'), ['environment', 'kind']).toString()).toBe('');
});
