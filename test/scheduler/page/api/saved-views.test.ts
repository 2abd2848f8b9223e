import { expect, test } from 'vitest';
import { parseViews } from '../../../../scheduler/page/api/saved-views.ts';

test('keeps views of this page', () => {
  expect(parseViews('[{"name":"mine","to":"/sites?tone=bad"}]')).toEqual([
    { name: 'mine', to: '/sites?tone=bad' },
  ]);
});

test.each([
  null,
  '',
  '{',
  '7',
  '{"name":"a","to":"/"}',
  '[null,7,{"name":"a"},{"to":"/"},{"name":1,"to":"/"}]',
  '[{"name":"elsewhere","to":"//elsewhere.example/"}]',
  '[{"name":"elsewhere","to":"https://elsewhere.example/"}]',
  '[{"name":"elsewhere","to":"/\\\\elsewhere.example/"}]',
  '[{"name":"script","to":"javascript:alert(1)"}]',
])('has no view for %s', (text) => {
  expect(parseViews(text)).toEqual([]);
});
