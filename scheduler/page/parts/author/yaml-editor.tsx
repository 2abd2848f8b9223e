import {
  autocompletion,
  type Completion,
  type CompletionContext,
  completionKeymap,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { EditorState, type Text as Document } from '@codemirror/state';
import { EditorView, hoverTooltip, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { Text } from '@mantine/core';
import type { RJSFSchema } from '@rjsf/utils';
import { useEffect, useRef } from 'react';
import { defined } from '#bundles/defined';
import { codeParts } from '../code-parts.ts';
import { describePlace, keysOf, placeInYaml, type Proposal, schemasAt, valuesOf } from './schema-at.ts';

/** JSON Schemas of the objects of a file, by their kind. */
export type Schemas = {
  readonly kinds: readonly string[];
  readonly schemaOf: (kind: string) => Promise<RJSFSchema | undefined>;
};

type Props = {
  readonly label: string;
  /** Text at the beginning; later ones do not count. */
  readonly initial: string;
  readonly schemas: Schemas;
  readonly onChange: (text: string) => void;
};

/** An editor of YAML that completes and describes fields by the JSON Schema of each object. Loaded when somebody edits text. */
export default function YamlEditor({ label, initial, schemas, onChange }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const changed = useRef(onChange);
  useEffect(() => {
    changed.current = onChange;
  }, [onChange]);
  const start = useRef(initial);
  useEffect(() => {
    if (host.current === null) return;
    // In a shadow root styles are constructed sheets; in the document they would be style elements, which the content security policy forbids.
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' });
    const view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: start.current,
        extensions: [
          lineNumbers(),
          history(),
          yaml(),
          indentUnit.of('  '),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false' }),
          autocompletion({ override: [completeBy(schemas)], icons: false }),
          hoverBy(schemas),
          // Tab is left to the browser, so that a keyboard gets out of the field.
          keymap.of([...completionKeymap, ...historyKeymap, ...defaultKeymap]),
          syntaxHighlighting(COLOURS),
          THEME,
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) changed.current(state.doc.toString());
          }),
        ],
      }),
    });
    return () => view.destroy();
  }, [label, schemas]);
  return (
    <>
      <Text fw={700}>{label}</Text>
      <Text size="sm">
        The whole file. Ctrl+Space lists fields and values, the pointer on a field describes it, and the
        preview names mistakes by line.
      </Text>
      <div ref={host} />
    </>
  );
}

const linesOf = (doc: Document): readonly string[] => doc.toString().split('\n');

/** Fields of every object, before it names its kind. */
const FIRST: readonly Proposal[] = ['apiVersion', 'kind', 'metadata', 'spec'].map((text) => ({
  text,
  rest: text === 'metadata' || text === 'spec' ? ':\n  ' : ': ',
  detail: '',
  info: undefined,
}));

const completeBy =
  ({ kinds, schemaOf }: Schemas) =>
  async ({ state, pos, explicit }: CompletionContext): Promise<CompletionResult | null> => {
    const { number, from, text } = state.doc.lineAt(pos);
    const before = text.slice(0, pos - from);
    const place = placeInYaml(linesOf(state.doc), number - 1, pos - from);
    const schema = place.kind === undefined ? undefined : await schemaOf(place.kind);
    const [, typed] = /^[\s-]*[^\s#][^#]*?:\s+(\S*)$/.exec(before) ?? [];
    if (typed !== undefined && place.key !== undefined) {
      const isKind = place.path.length === 0 && place.key === 'kind';
      const values = isKind
        ? kinds.map((kind) => ({ text: kind, rest: '', detail: '', info: undefined }))
        : valuesOf(schema ? schemasAt(schema, [...place.path, place.key]) : []);
      return { from: pos - typed.length, options: values.map(toCompletion) };
    }
    const started = /^[\s-]*([A-Za-z][\w./-]*)?$/.exec(before);
    const word = started?.[1];
    if (started === null || (word === undefined && !explicit)) return null;
    const found = schema ? schemasAt(schema, place.path) : [];
    const fields =
      schema === undefined && place.path.length === 0
        ? FIRST.filter((one) => !place.siblings.includes(one.text))
        : keysOf(found, place.siblings, place.indent);
    const items = place.path.at(-1) === '*' ? valuesOf(found) : [];
    return { from: pos - (word?.length ?? 0), options: [...fields, ...items].map(toCompletion) };
  };

/** The order of the schema stays. */
const toCompletion = ({ text, rest, detail, info }: Proposal, index: number): Completion => ({
  label: text,
  apply: `${text}${rest}`,
  detail,
  boost: -Math.min(index, 99),
  ...defined({ info: info === undefined ? undefined : () => withCode('span', info) }),
});

const withCode = (tag: string, text: string): HTMLElement => {
  const dom = document.createElement(tag);
  for (const [at, part] of codeParts(text).entries()) {
    if (at % 2 === 0) dom.append(part);
    else dom.appendChild(document.createElement('code')).textContent = part;
  }
  return dom;
};

const hoverBy = ({ schemaOf }: Schemas) =>
  hoverTooltip(async ({ state }, pos) => {
    const { number, from, to } = state.doc.lineAt(pos);
    const place = placeInYaml(linesOf(state.doc), number - 1, 0);
    const schema = place.kind === undefined ? undefined : await schemaOf(place.kind);
    if (schema === undefined || place.key === undefined) return null;
    const words = describePlace(schemasAt(schema, [...place.path, place.key]));
    if (words.length === 0) return null;
    return {
      pos: from + place.indent,
      end: to,
      above: true,
      create: () => {
        const dom = document.createElement('div');
        dom.className = 'about';
        for (const [index, word] of [`${place.key}: ${words[0]}`, ...words.slice(1)].entries()) {
          dom.append(withCode(index === 0 ? 'strong' : 'p', word));
        }
        return { dom };
      },
    };
  });

/** Colours of the page, which have enough contrast in both schemes. */
const COLOURS = HighlightStyle.define([
  { tag: [tags.definition(tags.propertyName), tags.propertyName], color: 'var(--mantine-color-anchor)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--mantine-color-dimmed)', fontStyle: 'italic' },
]);

const THEME = EditorView.theme({
  '&': {
    border: '1px solid var(--line)',
    color: 'var(--mantine-color-text)',
    backgroundColor: 'var(--mantine-color-body)',
    maxHeight: '40rem',
    minHeight: '12rem',
  },
  '&.cm-focused': { outline: '2px solid var(--mantine-color-anchor)', outlineOffset: '2px' },
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--mantine-color-text)' },
  '.cm-gutters': {
    color: 'var(--mantine-color-dimmed)',
    backgroundColor: 'var(--mantine-color-body)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-tooltip': {
    color: 'var(--mantine-color-text)',
    backgroundColor: 'var(--mantine-color-body)',
    border: '1px solid var(--line)',
    maxWidth: '32rem',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    color: 'var(--mantine-color-white)',
    backgroundColor: 'var(--mantine-primary-color-filled)',
  },
  '.about': { padding: '0.25rem 0.5rem' },
  '.about p': { margin: '0.25rem 0 0' },
});
