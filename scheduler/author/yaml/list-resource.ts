import { isMap, isSeq, parseDocument } from 'yaml';
import { keepLines } from './keep-lines.ts';

/** The text of a kustomization that also lists a file. */
export const listResource = (text: string, file: string): string => {
  const write = (add: boolean): string => {
    const document = parseDocument(text, { logLevel: 'silent' });
    const listed = document.get('resources', true);
    if (add && isSeq(listed)) listed.add(document.createNode(file));
    else if (add && isMap(document.contents)) document.set('resources', document.createNode([file]));
    return document.toString({ lineWidth: 0, indentSeq: /^[ \t]+- /m.test(text) });
  };
  const changed = write(true);
  const kept = keepLines(text, write(false), changed);
  const says = (one: string): string => JSON.stringify(parseDocument(one, { logLevel: 'silent' }).toJS());
  return says(kept) === says(changed) ? kept : changed;
};
