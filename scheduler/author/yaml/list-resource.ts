import { isMap, isSeq } from 'yaml';
import { editDocuments } from './edit-document.ts';

/** The text of a kustomization that also lists a file. Kustomize reads only the first document of the file; others stay as they are. */
export const listResource = (text: string, file: string): string => {
  const isEmpty = text.split('\n').every((line) => /^\s*(?:#|$)/.test(line));
  if (isEmpty) return `${text}resources:\n  - ${file}\n`;
  return editDocuments(text, ([document]) => {
    const listed = document?.get('resources', true);
    if (isSeq(listed)) listed.add(document?.createNode(file));
    else if (isMap(document?.contents)) document.set('resources', document.createNode([file]));
  });
};
