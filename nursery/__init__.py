"""The nursery: turns baby segments into merged segments."""
