import { Combobox, Group, Modal, Text, TextInput, UnstyledButton, useCombobox } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import type { Search } from '#bundles/schemas/types/hub-decisions';
import { search } from '#bundles/transport/hub/client';
import { Refusal, send } from '../../api/ask.ts';
import { addressOf } from '../address-of.ts';
import { Icon } from './icon.tsx';
import { ALL_PLACES } from './places.ts';

/** Answers of the hub that are shown. */
const FOUND = 8;
/** Pause in typing before the hub is asked. */
const PAUSE_MS = 150;

/** A button, and the keys `/` and Ctrl or Command with K, open the search for views and everything that has a name. */
export const Palette = () => {
  const [isOpen, setOpen] = useState(false);
  const open = (): void => setOpen(true);
  const close = (): void => setOpen(false);
  useHotkeys([
    [
      '/',
      (event) => {
        if (isTyped(event)) return;
        event.preventDefault();
        open();
      },
      { preventDefault: false },
    ],
    ['mod+K', open],
  ]);
  return (
    <>
      <UnstyledButton
        className="find"
        onClick={open}
        aria-label="Find anything"
        aria-keyshortcuts="/ Control+K"
      >
        <Icon name="search" />
        <span className="wide-only">Find anything</span>
        <kbd className="wide-only">/</kbd>
      </UnstyledButton>
      <Modal
        opened={isOpen}
        onClose={close}
        title="Find anything"
        closeButtonProps={{ 'aria-label': 'Close' }}
        size="lg"
        yOffset="10vh"
        // Scroll locking writes a style element, which the content security policy forbids.
        lockScroll={false}
      >
        {isOpen && <Finder close={close} />}
      </Modal>
    </>
  );
};

/** Whether a key belongs to the editor of text. Its field is in a shadow root, so that the target of the event is not the field. */
const isTyped = (event: KeyboardEvent): boolean => {
  const [field] = event.composedPath();
  return field instanceof HTMLElement && field.isContentEditable;
};

type Choice = { readonly to: string; readonly name: string; readonly kind: string };

const Finder = ({ close }: { readonly close: () => void }) => {
  const navigate = useNavigate();
  const combobox = useCombobox({ opened: true });
  const [asked, setAsked] = useState('');
  const { found, fault } = useFound(asked.trim());
  const places = ALL_PLACES.filter(({ title }) => title.toLowerCase().includes(asked.trim().toLowerCase()));
  const choices: readonly Choice[] = [
    ...places.map(({ to, title }) => ({ to, name: title, kind: 'view' })),
    ...found.map((one) => ({
      to: addressOf(one),
      name: one.name,
      kind: one.in === null ? one.kind : `${one.kind} in ${one.in}`,
    })),
  ];
  const { selectFirstOption } = combobox;
  useEffect(() => {
    selectFirstOption();
  }, [choices.length, asked, selectFirstOption]);
  const go = async (to: string): Promise<void> => {
    close();
    await navigate(to);
  };
  return (
    <Combobox store={combobox} onOptionSubmit={(to) => void go(to)}>
      <Combobox.EventsTarget>
        <TextInput
          data-autofocus
          aria-label="Name or digest of anything"
          placeholder="Site, agent, workload, release, digest or view"
          value={asked}
          maxLength={100}
          onChange={({ currentTarget }) => setAsked(currentTarget.value)}
          leftSection={<Icon name="search" />}
        />
      </Combobox.EventsTarget>
      <Combobox.Options mt="sm" aria-label="Found">
        {choices.map(({ to, name, kind }) => (
          <Combobox.Option key={`${kind} ${name}`} value={to}>
            <Group justify="space-between" wrap="nowrap" gap="sm">
              <span className="long-name">{name}</span>
              <Text span size="xs" c="dimmed">
                {kind}
              </Text>
            </Group>
          </Combobox.Option>
        ))}
        {choices.length === 0 && <Combobox.Empty>Nothing has this name or digest.</Combobox.Empty>}
      </Combobox.Options>
      {fault !== undefined && (
        <Text role="alert" size="sm">
          {fault}
        </Text>
      )}
      {found.length === FOUND && (
        <UnstyledButton
          className="more"
          onClick={() => void go(`/search?q=${encodeURIComponent(asked.trim())}`)}
        >
          All that is found
        </UnstyledButton>
      )}
    </Combobox>
  );
};

type Found = { readonly found: Search['found']; readonly fault?: string };
const NOTHING: Found = { found: [] };

/** What the hub finds, after a pause in typing. */
const useFound = (q: string): Found => {
  const [answer, setAnswer] = useState(NOTHING);
  useEffect(() => {
    if (q === '') {
      setAnswer(NOTHING);
      return undefined;
    }
    const stop = new AbortController();
    const timer = window.setTimeout(() => {
      send((options) => search({ q, limit: FOUND }, options), { signal: stop.signal }).then(
        ({ found }) => setAnswer({ found }),
        (error: unknown) => {
          if (!stop.signal.aborted)
            setAnswer({ found: [], fault: error instanceof Refusal ? error.message : String(error) });
        },
      );
    }, PAUSE_MS);
    return () => {
      window.clearTimeout(timer);
      stop.abort();
    };
  }, [q]);
  return answer;
};
