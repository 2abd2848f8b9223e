import { expect, it } from 'vitest';
import type { Json } from '#bundles/json/canonical';
import { admittedLocal } from '../../../../scheduler/hub/sites/admitted-local.ts';
import type { SiteEdit } from '../../../../scheduler/hub/sites/local-edits.ts';

const bundle = (properties: Readonly<Record<string, Json>>) =>
  ({ siteInputs: { schema: { type: 'object', properties } } }) as unknown as Parameters<
    typeof admittedLocal
  >[0][number];
const edit = (name: string, value: Json): SiteEdit =>
  ({ name, value: JSON.stringify(value) }) as unknown as SiteEdit;

const open = { type: 'integer', 'x-editable-by': 'site' };
const closed = { type: 'integer' };
const narrow = { ...open, maximum: 5 };

it('admits a local value only if all bundles that ask for it grant it and accept it, as the agent does', async () => {
  const edits = [edit('speed', 7)];
  expect(await admittedLocal([bundle({ speed: open }), bundle({ other: closed })], edits)).toEqual({
    speed: 7,
  });
  expect(await admittedLocal([bundle({ speed: open }), bundle({ speed: closed })], edits)).toEqual({});
  expect(await admittedLocal([bundle({ speed: open }), bundle({ speed: narrow })], edits)).toEqual({});
  expect(await admittedLocal([bundle({ other: open })], edits)).toEqual({});
});

it('admits no value that may be a secret', async () => {
  const text = { type: 'string', 'x-editable-by': 'site' };
  const edits = [edit('dbPassword', 'x'), edit('hidden', 'x'), edit('shown', 'x')];
  const asked = bundle({ dbPassword: text, hidden: { ...text, writeOnly: true }, shown: text });
  expect(await admittedLocal([asked], edits)).toEqual({ shown: 'x' });
});
