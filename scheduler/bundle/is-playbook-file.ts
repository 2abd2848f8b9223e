import type { RenderedFile } from '../platform/model.ts';
import type { Mould } from '../render/remember-renders.ts';
import { isPlaybook } from './reconciler-traits.ts';

/** Begins with something that is no list, whatever fills the holes. */
const NO_LIST = /^(?:\s*(?:#.*|---\s*)?\n)*[A-Za-z{]/;

const known = new WeakMap<Mould, boolean>();

/** Is a rendered file something for Ansible? Asked of each mould once, where its beginning says it. */
export const isPlaybookFile = (file: RenderedFile): boolean => {
  const mould = file.from?.mould;
  if (!mould) return isPlaybook(file.bytes);
  const decided = known.get(mould) ?? NO_LIST.test(mould.pieces[0] as string);
  known.set(mould, decided);
  return decided ? false : isPlaybook(file.bytes);
};
