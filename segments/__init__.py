"""Files and objects of Segplane: formats, keys and stores."""
